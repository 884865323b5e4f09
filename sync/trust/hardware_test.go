package trust_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"golang.org/x/crypto/ssh"

	"github.com/linkwright/linkwright/sync/trust"
)

// sshsig writes a signature as PROTOCOL.sshsig has it, with a key that ssh-keygen cannot be given here.
func sshsig(t *testing.T, public ssh.PublicKey, payload []byte, sign func([]byte) *ssh.Signature) []byte {
	t.Helper()
	digest := sha512.Sum512(payload)
	message := append([]byte("SSHSIG"), ssh.Marshal(struct {
		Namespace, Reserved, Hash string
		Digest                    []byte
	}{"git", "", "sha512", digest[:]})...)
	blob := ssh.Marshal(struct {
		Version           uint32
		Key               []byte
		Space, Rest, Hash string
		Signature         []byte
	}{1, public.Marshal(), "git", "", "sha512", ssh.Marshal(sign(message))})
	return pem.EncodeToMemory(&pem.Block{Type: "SSH SIGNATURE", Bytes: append([]byte("SSHSIG"), blob...)})
}

const plainCommit = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor a <a@example.com> 1700000000 +0000\n" +
	"committer a <a@example.com> 1700000000 +0000\n\na change\n"

// A hardware key counts when somebody touched it.
func TestHardwareKey(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	const application = "ssh:"
	key, err := ssh.ParsePublicKey(ssh.Marshal(struct {
		Kind        string
		Key         []byte
		Application string
	}{ssh.KeyAlgoSKED25519, public, application}))
	if err != nil {
		t.Fatal(err)
	}
	token := func(flags byte) func([]byte) *ssh.Signature {
		return func(message []byte) *ssh.Signature {
			app, sum := sha256.Sum256([]byte(application)), sha256.Sum256(message)
			state := []byte{flags, 0, 0, 0, 7} // and how often it signed
			return &ssh.Signature{
				Format: ssh.KeyAlgoSKED25519, Rest: state,
				Blob: ed25519.Sign(private, bytes.Join([][]byte{app[:], state, sum[:]}, nil)),
			}
		}
	}
	k := keys(t, ssh.MarshalAuthorizedKey(key))
	commit := func(flags byte) []byte {
		return with([]byte(plainCommit), "gpgsig", sshsig(t, key, []byte(plainCommit), token(flags)), "\na change")
	}
	if _, err := k.Commit(commit(1)); err != nil {
		t.Errorf("with a touch: %v", err)
	}
	_, err = k.Commit(commit(0))
	refuse(t, err, trust.ErrBadSignature, "without a touch")
}

// An RSA key may sign with SHA-2 alone.
func TestRSAWithSHA1(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	k := keys(t, ssh.MarshalAuthorizedKey(signer.PublicKey()))
	for algorithm, why := range map[string]string{ssh.KeyAlgoRSASHA256: "", ssh.KeyAlgoRSASHA512: "", ssh.KeyAlgoRSA: "invalid signature format \"ssh-rsa\""} {
		armor := sshsig(t, signer.PublicKey(), []byte(plainCommit), func(message []byte) *ssh.Signature {
			sig, err := signer.(ssh.AlgorithmSigner).SignWithAlgorithm(rand.Reader, message, algorithm)
			if err != nil {
				t.Fatal(err)
			}
			return sig
		})
		_, err := k.Commit(with([]byte(plainCommit), "gpgsig", armor, "\na change"))
		if why != "" {
			refuse(t, err, trust.ErrBadSignature, why)
		} else if err != nil {
			t.Errorf("%s: %v", algorithm, err)
		}
	}
}

// An OpenPGP key counts if it is long enough, and meant for signing when it is read.
func TestOpenPGPKeyThatMustNotSign(t *testing.T) {
	config := &packet.Config{RSABits: 1024}
	e, err := openpgp.NewEntity("ann", "", "ann@example.com", config)
	if err != nil {
		t.Fatal(err)
	}
	var armor, public bytes.Buffer
	if err := openpgp.ArmoredDetachSign(&armor, e, strings.NewReader(plainCommit), config); err != nil {
		t.Fatal(err)
	}
	commit := with([]byte(plainCommit), "gpgsig", append(armor.Bytes(), '\n'), "\na change")
	if err := e.Serialize(&public); err != nil {
		t.Fatal(err)
	}
	_, err = keys(t, public.Bytes()).Commit(commit)
	refuse(t, err, trust.ErrBadSignature, "has 1024 bits")

	config = &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA}
	if e, err = openpgp.NewEntity("ann", "", "ann@example.com", config); err != nil {
		t.Fatal(err)
	}
	armor.Reset()
	if err := openpgp.ArmoredDetachSign(&armor, e, strings.NewReader(plainCommit), config); err != nil {
		t.Fatal(err)
	}
	commit = with([]byte(plainCommit), "gpgsig", append(armor.Bytes(), '\n'), "\na change")
	for _, may := range []bool{true, false} {
		id := e.PrimaryIdentity()
		id.SelfSignature.FlagSign = may
		if err := id.SelfSignature.SignUserId(id.Name, e.PrimaryKey, e.PrivateKey, config); err != nil {
			t.Fatal(err)
		}
		public.Reset()
		if err := e.Serialize(&public); err != nil {
			t.Fatal(err)
		}
		if _, err = keys(t, public.Bytes()).Commit(commit); may && err != nil {
			t.Errorf("with a key that may sign: %v", err)
		}
	}
	refuse(t, err, trust.ErrBadSignature, "not a key for signing")
}
