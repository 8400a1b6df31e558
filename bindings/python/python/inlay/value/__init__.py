"""Values that say their type: `inlay.value.constant`."""
