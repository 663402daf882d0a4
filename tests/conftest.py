from tests.servers.llama import llama_server

__all__ = ["llama_server"]
