package linuxonly

func alone() int { return 1 }
