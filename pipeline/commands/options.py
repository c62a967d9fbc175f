"""Options of the commands that read a warehouse."""

import argparse
import os


def add_warehouse(parser: argparse.ArgumentParser) -> None:
    """The option `--warehouse`, which must be given here or as TIDEMARK_WAREHOUSE."""
    told = os.environ.get("TIDEMARK_WAREHOUSE")
    parser.add_argument("--warehouse", default=told, required=not told, help="the folder or URI of the Delta tables")
