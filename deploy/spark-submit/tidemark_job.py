"""The file that spark-submit runs: the `tidemark` command."""

from pipeline.cli import program

if __name__ == "__main__":
    program()
