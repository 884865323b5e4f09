package trust

import (
	"bytes"
	"strings"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// namespace is what Git signs in: a signature that was made for anything else proves nothing here.
const namespace = "git"

// openSSH judges a signature of ssh-keygen -Y sign: of a known key that was allowed to sign for Git at the moment which the
// object names.
func (k Keys) openSSH(s signed) (Signer, error) {
	sig, err := sshsig.Unarmor([]byte(s.armor))
	if err != nil {
		return Signer{}, bad("%v (sign again, if necessary with a newer ssh)", err)
	}
	key := sig.PublicKey
	if _, ok := key.(*ssh.Certificate); ok {
		return Signer{}, bad("it was made with a certificate (sign with a key itself)")
	}
	by, why := k.find(key, s)
	if by.Kind == "" {
		return Signer{}, unknown(ssh.FingerprintSHA256(key))
	}
	if sig.Namespace != namespace {
		return Signer{}, bad("%s signed in the namespace %q, which is not Git's (sign with git)", by, sig.Namespace)
	}
	if err := sshsig.Verify(bytes.NewReader(s.payload), sig, key, sig.HashAlgorithm, namespace); err != nil {
		if strings.Contains(err.Error(), "presence") { // of a hardware key; the library has no type for it
			return Signer{}, bad("the hardware key %s signed without a touch (sign again, with a touch)", by)
		}
		return Signer{}, wrongBytes(by)
	}
	if why != "" {
		return Signer{}, bad("%s %s", by, why)
	}
	return by, nil
}

// find looks for a key among the lines: any that allows this counts; else why says what the last one misses. The Signer is
// empty where no line has the key.
func (k Keys) find(key ssh.PublicKey, s signed) (by Signer, why string) {
	blob := key.Marshal()
	for _, line := range k.ssh {
		if !bytes.Equal(line.Marshal(), blob) {
			continue
		}
		by = Signer{Kind: SSH, Fingerprint: ssh.FingerprintSHA256(key), Identity: line.identity}
		if why = line.allows(s.at); why == "" {
			break
		}
	}
	return by, why
}
