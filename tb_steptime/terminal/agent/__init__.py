"""What `tb-steptime mcp` answers to a coding agent: small answers, each number with its unit or why it is missing."""
