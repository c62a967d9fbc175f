"""What spark-submit runs: it wants a file, and this one is the `tidemark` command."""

from pipeline.cli import program

if __name__ == "__main__":
    program()
