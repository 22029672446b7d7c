package kubeconfig

// At has a transaction tell its steps.
func (o WriteOptions) At(step func(name string)) WriteOptions {
	o.step = step
	return o
}
