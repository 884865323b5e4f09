package trust

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"strings"

	"golang.org/x/crypto/ssh"
)

// namespace is what Git signs in: a signature that was made for anything else proves nothing here.
const namespace = "git"

const magic = "SSHSIG"

// sshSignature is the blob of PROTOCOL.sshsig behind its magic.
type sshSignature struct {
	Version   uint32
	PublicKey []byte
	Namespace string
	Reserved  string
	Hash      string
	Signature []byte
}

// sshSigned is what the key signs, behind the magic.
type sshSigned struct {
	Namespace string
	Reserved  string
	Hash      string
	Digest    []byte
}

// openSSH judges a signature of ssh-keygen -Y sign: of a known key that was allowed to sign for Git at the moment which the
// object names.
func (k Keys) openSSH(s signed) (Signer, error) {
	blob, err := sshBlob(s.armor)
	if err != nil {
		return Signer{}, err
	}
	key, err := ssh.ParsePublicKey(blob.PublicKey)
	if err != nil {
		return Signer{}, bad("the key in it cannot be read (sign anew)")
	}
	if _, ok := key.(*ssh.Certificate); ok {
		return Signer{}, bad("it was made with a certificate (sign with a key itself)")
	}
	by, why := k.find(key, s)
	if by.Kind == "" {
		return Signer{}, unknown(ssh.FingerprintSHA256(key))
	}
	if blob.Namespace != namespace {
		return Signer{}, bad("%s signed in the namespace %q, which is not Git's (sign with git)", by, blob.Namespace)
	}
	message, err := sshMessage(blob, s.payload)
	if err != nil {
		return Signer{}, err
	}
	var sig ssh.Signature
	if err := ssh.Unmarshal(blob.Signature, &sig); err != nil {
		return Signer{}, bad("it cannot be read (sign anew)")
	}
	if sig.Format == ssh.KeyAlgoRSA {
		return Signer{}, bad("it uses the broken hash SHA-1 (sign with a newer ssh)")
	}
	if err := key.Verify(message, &sig); err != nil {
		if strings.Contains(err.Error(), "presence") { // of a hardware key; the library has no type for it
			return Signer{}, bad("nobody touched the hardware key %s when it signed (sign anew, with a touch)", by)
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

// sshBlob takes the signature out of its armor.
func sshBlob(armor string) (sshSignature, error) {
	text := strings.TrimSuffix(strings.TrimPrefix(armor, beginSSH), endSSH+"\n")
	raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return sshSignature{}, bad("its armor is no base64 (sign anew)")
	}
	var out sshSignature
	rest, ok := bytes.CutPrefix(raw, []byte(magic))
	if !ok || ssh.Unmarshal(rest, &out) != nil {
		return sshSignature{}, bad("it cannot be read (sign anew)")
	}
	if out.Version != 1 {
		return sshSignature{}, bad("it is of version %d of SSH's format, and 1 is understood", out.Version)
	}
	return out, nil
}

// sshMessage is what the signature is of.
func sshMessage(s sshSignature, payload []byte) ([]byte, error) {
	var digest []byte
	switch s.Hash {
	case "sha256":
		sum := sha256.Sum256(payload)
		digest = sum[:]
	case "sha512":
		sum := sha512.Sum512(payload)
		digest = sum[:]
	default:
		return nil, bad("it uses the hash %q (want sha512 or sha256)", s.Hash)
	}
	return append([]byte(magic), ssh.Marshal(sshSigned{s.Namespace, s.Reserved, s.Hash, digest})...), nil
}
