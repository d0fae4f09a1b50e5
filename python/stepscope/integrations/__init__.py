"""Callbacks for training frameworks: stepscope.integrations.lightning and .huggingface."""
