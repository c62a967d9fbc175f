"""`tidemark check`: whether a start would succeed, and what to do where it would not. It leaves nothing behind."""
