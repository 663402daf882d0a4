"""What an author wrote: one YAML file, checked, as an `AgentDefinition`."""
