package atomicfile

// SyncFolder does nothing: Windows has no call for it, and its file system keeps a journal of names.
func SyncFolder(string) error { return nil }
