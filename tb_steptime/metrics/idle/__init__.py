"""Why a GPU is idle: every instant has one reason."""
