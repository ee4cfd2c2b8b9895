package linuxonly

func alone() int { return "one" }
