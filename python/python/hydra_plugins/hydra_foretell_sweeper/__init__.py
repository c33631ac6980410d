"""The Hydra sweeper `hydra/sweeper=foretell`."""
