package source

// Flags are how people supply a key, or allow what an option allows, by its name: errors tell it beside the name, since only
// our caller knows it.
type Flags map[string]string

// The names in Flags that are no names of Keys.
const (
	FlagPassphrase    = "passphrase" // the key password, of ssh
	FlagAllowFile     = "AllowFile"
	FlagAllowInsecure = "AllowInsecure"
)

// key is a key's name, and how to supply it.
func (f Flags) key(name string) string {
	if flag := f[name]; flag != "" {
		return name + " (" + flag + ")"
	}
	return name
}

// passphrase is the key password, of ssh.
func (f Flags) passphrase() string { return Flags{KeyPassword: f[FlagPassphrase]}.key(KeyPassword) }

// or ends a list of what to do by what a flag allows.
func (f Flags) or(name string) string {
	if flag := f[name]; flag != "" {
		return ", or allow it with " + flag
	}
	return ""
}
