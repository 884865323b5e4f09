package cli

// Words are the formats that the flag takes, for completion.
func (f *Format) Words() []string {
	out := make([]string, len(f.among))
	for i, one := range f.among {
		out[i] = string(one)
	}
	return out
}
