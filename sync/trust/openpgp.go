package trust

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// armored reads one block of public keys.
func (k *Keys) armored(block string) error {
	b, err := armor.Decode(strings.NewReader(block))
	if err != nil {
		return fmt.Errorf("the key block cannot be read: %w (export it again: gpg --armor --export)", err)
	}
	return k.ring(b.Body)
}

func (k *Keys) binary(name string, data []byte) error {
	if err := k.ring(bytes.NewReader(data)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// ring reads public keys one after another.
func (k *Keys) ring(r io.Reader) error {
	found, err := openpgp.ReadKeyRing(r)
	if err != nil {
		return fmt.Errorf("no OpenPGP key can be read here: %w (export it again: gpg --export)", err)
	}
	if len(found) == 0 {
		return errors.New("there is no OpenPGP key in here (export it again: gpg --export)")
	}
	if slices.ContainsFunc(found, private) {
		return errPrivate
	}
	k.pgp = append(k.pgp, found...)
	return nil
}

func private(e *openpgp.Entity) bool {
	return e.PrivateKey != nil || slices.ContainsFunc(e.Subkeys, func(sub openpgp.Subkey) bool { return sub.PrivateKey != nil })
}

// openPGP judges a signature of OpenPGP: of a known key which, when it signed, was valid and meant for signing, and was
// never revoked. A retired key is out for good: whoever holds it can sign with any date.
func (k Keys) openPGP(s signed) (Signer, error) {
	sig, body, err := packetOf(s.armor)
	if err != nil {
		return Signer{}, err
	}
	if sig.SigType != packet.SigTypeBinary && sig.SigType != packet.SigTypeText {
		return Signer{}, bad("it does not sign a document (sign again)")
	}
	if !strong(sig.Hash) {
		return Signer{}, bad("it uses the broken hash %s (gpg --digest-algo SHA512)", sig.Hash)
	}
	known := k.pgp.KeysById(*sig.IssuerKeyId)
	if len(known) == 0 {
		return Signer{}, unknown(issuer(sig))
	}
	by := Signer{Kind: OpenPGP, Fingerprint: fingerprint(known[0].PublicKey), Identity: userID(known[0].Entity)}
	for _, key := range known {
		if len(key.Entity.Revocations)+len(key.Revocations) > 0 {
			return Signer{}, bad("%s was revoked (sign with another key)", by)
		}
	}
	if bits, err := known[0].PublicKey.BitLength(); err == nil && bits < minRSABits && rsaKey(known[0].PublicKey) {
		return Signer{}, bad("%s has %d bits, and needs at least %d (sign with another key)", by, bits, minRSABits)
	}
	signing := k.pgp.KeysByIdUsage(*sig.IssuerKeyId, packet.KeyFlagSign)
	if len(signing) == 0 {
		return Signer{}, bad("%s is not a key for signing (sign with one that is)", by)
	}
	// Several files may hold one key, as it was and as it was renewed.
	for _, key := range signing {
		var ring openpgp.KeyRing = openpgp.EntityList{key.Entity}
		at := sig.CreationTime
		_, err = openpgp.CheckDetachedSignature(ring, bytes.NewReader(s.payload), bytes.NewReader(body),
			&packet.Config{Time: func() time.Time { return at }})
		if err == nil {
			return by, nil
		}
	}
	return Signer{}, refusal(by, err)
}

// refusal puts the library's error into words.
func refusal(by Signer, err error) error {
	switch {
	case errors.Is(err, pgperrors.ErrKeyRevoked):
		return bad("%s was revoked (sign with another key)", by)
	case errors.Is(err, pgperrors.ErrKeyExpired):
		return bad("%s was not valid when it signed: it had expired, or did not exist yet (renew it, export it again, and sign again)", by)
	case errors.Is(err, pgperrors.ErrSignatureExpired):
		return bad("it, or %s, has expired (sign again)", by)
	}
	if _, broken := errors.AsType[pgperrors.SignatureError](err); broken {
		return wrongBytes(by)
	}
	return bad("of %s: %v (sign again)", by, err)
}

// packetOf takes the one signature out of its armor, parsed and as it is.
func packetOf(text string) (*packet.Signature, []byte, error) {
	block, err := armor.Decode(strings.NewReader(text))
	if err != nil {
		return nil, nil, bad("its armor cannot be read: %v (sign again)", err)
	}
	body, err := io.ReadAll(block.Body)
	if err != nil {
		return nil, nil, bad("its armor cannot be read: %v (sign again)", err)
	}
	packets := packet.NewReader(bytes.NewReader(body))
	first, err := packets.Next()
	if err != nil {
		return nil, nil, bad("it cannot be read: %v (sign again)", err)
	}
	sig, ok := first.(*packet.Signature)
	if _, err := packets.Next(); !ok || !errors.Is(err, io.EOF) {
		return nil, nil, bad("it is not exactly one signature (sign again, with one key)")
	}
	if sig.IssuerKeyId == nil {
		return nil, nil, bad("it does not name its key (sign again)")
	}
	return sig, body, nil
}

func strong(h crypto.Hash) bool {
	switch h {
	case crypto.SHA224, crypto.SHA256, crypto.SHA384, crypto.SHA512, crypto.SHA3_256, crypto.SHA3_512:
		return true
	}
	return false
}

func rsaKey(key *packet.PublicKey) bool {
	return key.PubKeyAlgo == packet.PubKeyAlgoRSA || key.PubKeyAlgo == packet.PubKeyAlgoRSASignOnly
}

func fingerprint(key *packet.PublicKey) string { return fmt.Sprintf("%X", key.Fingerprint) }

func issuer(sig *packet.Signature) string {
	if len(sig.IssuerFingerprint) > 0 {
		return fmt.Sprintf("%X", sig.IssuerFingerprint)
	}
	return fmt.Sprintf("%016X", *sig.IssuerKeyId)
}

func userID(e *openpgp.Entity) string {
	if id := e.PrimaryIdentity(); id != nil {
		return id.Name
	}
	return ""
}
