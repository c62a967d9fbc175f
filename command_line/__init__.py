"""What the command lines of the pipeline and the producers have in common, on top of Click."""
