"""SQL whose shape depends on the policy, built as sqlglot trees; nothing here talks to a database."""
