"""DataFrame to DataFrame: decode, judge, fold, publish. No reads, no writes, no settings."""
