"""Who is asking, and how to answer them: MCP and the command line."""
