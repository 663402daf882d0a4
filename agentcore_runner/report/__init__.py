"""What a run means to the job that started it."""
