"""Recall measured on public question sets, with plain BM25 over the same texts beside it."""
