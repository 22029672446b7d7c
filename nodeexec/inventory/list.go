package inventory

func (l *loader) addList(root Value) error {
	return &ReadError{Origin: root.origin, Why: "lists are not read yet"}
}
