"""The file that spark-submit runs: the `tidemark` command."""

from tidemark.pipeline.cli import program

if __name__ == "__main__":
    program()
