package inventory

func (l *loader) addINI(shown string, b []byte) error {
	return &ReadError{Origin: Origin{File: shown}, Why: "INI is not read yet"}
}
