package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	exactly "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/object"
)

// Metadata alone, in protobuf where the server can.
const (
	acceptMeta = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1," +
		"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	acceptMetaList = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1," +
		"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

const pageSize = 500

// list reads all pages; a list that expired between two of them is begun once more.
func (c *reader) list(ctx context.Context, r resource, s scope) (listing, error) {
	l, err := c.pages(ctx, r, s)
	if isExpired(err) {
		l, err = c.pages(ctx, r, s)
	}
	return l, err
}

func (c *reader) pages(ctx context.Context, r resource, s scope) (listing, error) {
	read, as := c.metaPage, s.reading(r)
	if as.whole() {
		read = c.wholePage
	}
	var all listing
	for next := ""; ; {
		req := s.narrow(setPath(c.rest.Get(), r.path(s.namespace, ""))).Param("limit", strconv.Itoa(pageSize))
		if next != "" {
			req.Param("continue", next)
		}
		items, list, err := read(ctx, req, as)
		if err != nil {
			return listing{}, err
		}
		if err := whole(list, next); err != nil {
			return listing{}, err
		}
		all.items, all.at = append(all.items, items...), list.ResourceVersion
		if next = list.Continue; next == "" {
			all.items = inOrder(all.items)
			return all, nil
		}
	}
}

// narrow puts what a collection is narrowed by into a request.
func (s scope) narrow(req *rest.Request) *rest.Request {
	if s.selector != "" {
		req.Param("labelSelector", s.selector)
	}
	if s.name != "" {
		req.Param("fieldSelector", "metadata.name="+s.name)
	}
	return req
}

// inOrder sorts what the server sorted by its own keys, in which a namespace ends with a slash.
func inOrder(items []object.Item) []object.Item {
	if !slices.IsSortedFunc(items, object.Item.Compare) {
		slices.SortStableFunc(items, object.Item.Compare)
	}
	return slices.CompactFunc(items, func(a, b object.Item) bool { return a.Compare(b) == 0 })
}

// whole refuses a list that ends before its end, or never does.
func whole(list metav1.ListMeta, asked string) error {
	switch {
	case list.Continue == "" && list.RemainingItemCount != nil && *list.RemainingItemCount > 0:
		return fmt.Errorf("the list is truncated: %d items are missing", *list.RemainingItemCount)
	case list.Continue != "" && list.Continue == asked:
		return errors.New("the list does not end: the server returned the same page twice")
	}
	return nil
}

// reading says what an item is and how much of it is kept.
type reading struct {
	resource
	extent
}

func (s scope) reading(r resource) reading { return reading{r, s.extent} }

func (c *reader) metaPage(ctx context.Context, req *rest.Request, as reading) ([]object.Item, metav1.ListMeta, error) {
	got, err := req.SetHeader("Accept", acceptMetaList).Do(ctx).Get()
	if err != nil {
		return nil, metav1.ListMeta{}, err
	}
	list, ok := got.(*metav1.PartialObjectMetadataList)
	if !ok {
		return nil, metav1.ListMeta{}, fmt.Errorf("the answer is not a list of metadata but %T", got)
	}
	items := make([]object.Item, 0, len(list.Items))
	for i := range list.Items {
		it, err := c.metaItem(&list.Items[i].ObjectMeta, as)
		if err != nil {
			return nil, metav1.ListMeta{}, err
		}
		items = append(items, it)
	}
	return items, list.ListMeta, nil
}

func (c *conn) metaItem(m *metav1.ObjectMeta, as reading) (object.Item, error) {
	if m.Name == "" {
		return object.Item{}, errors.New("the answer has an object without name")
	}
	it := c.item(m)
	if as.depth != object.Metadata {
		return it, nil
	}
	bare := metav1.PartialObjectMetadata{ObjectMeta: *m}
	bare.APIVersion, bare.Kind = as.ToAPIVersionAndKind()
	bare.ManagedFields = nil
	body, err := json.Marshal(bare)
	it.Body = object.NewBody(body)
	return it, err
}

func (c *reader) wholePage(ctx context.Context, req *rest.Request, as reading) ([]object.Item, metav1.ListMeta, error) {
	raw, err := rawJSON(ctx, req)
	if err != nil {
		return nil, metav1.ListMeta{}, err
	}
	list, err := listOf(raw, as)
	if err != nil {
		return nil, metav1.ListMeta{}, err
	}
	items := make([]object.Item, 0, len(list.items))
	for _, one := range list.items {
		it, err := c.checkedItem(one, as)
		if err != nil {
			return nil, metav1.ListMeta{}, err
		}
		items = append(items, it)
	}
	return items, list.meta, nil
}

// page is a list as it was answered: its items are not decoded.
type page struct {
	meta  metav1.ListMeta
	items [][]byte
}

// listOf takes a list apart: all of it is JSON then, and need not be checked again.
func listOf(raw []byte, as reading) (list page, err error) {
	if err := checked(raw); err != nil {
		return list, fmt.Errorf("decode list: %w", err)
	}
	parts, ok := object.Parts(raw)
	kind := ""
	for _, p := range parts {
		switch value := raw[p.From:p.To]; p.Name {
		case "kind":
			err = json.Unmarshal(value, &kind)
		case "metadata":
			err = json.Unmarshal(value, &list.meta)
		case "items":
			list.items, ok = object.Items(value)
			ok = ok || string(value) == "null"
		}
		if !ok || err != nil {
			return list, errors.Join(fmt.Errorf("decode list: a list has no field %s", p.Name), err)
		}
	}
	if kind != as.Kind+"List" {
		return list, fmt.Errorf("the answer is not a list of %s but %q", as.Kind, kind)
	}
	return list, nil
}

// checked returns what is wrong with what is no JSON.
func checked(raw []byte) error {
	if json.Valid(raw) {
		return nil
	}
	return json.Unmarshal(raw, &struct{}{})
}

// wholeItem is checkedItem for what was not checked yet.
func (c *conn) wholeItem(raw []byte, as reading) (object.Item, error) {
	if err := checked(raw); err != nil {
		return object.Item{}, fmt.Errorf("decode object: %w", err)
	}
	return c.checkedItem(raw, as)
}

// checkedItem keeps of an object, which is known to be JSON, as much as is asked for: of all of it no managed fields, which are
// the record's.
func (c *conn) checkedItem(raw []byte, as reading) (object.Item, error) {
	parts, ok := object.Parts(raw)
	if !ok {
		return object.Item{}, errors.New("decode object: it is not a JSON object")
	}
	var m metav1.ObjectMeta
	for _, p := range parts {
		if p.Name != "metadata" {
			continue
		}
		if err := exactly.Unmarshal(raw[p.From:p.To], &m); err != nil {
			return object.Item{}, fmt.Errorf("decode metadata: %w", err)
		}
	}
	it, err := c.metaItem(&m, as)
	if as.depth == object.Whole {
		it.Body = object.NewBody(bodyOf(raw, parts, as))
	}
	if as.health {
		it.Record.Health = object.HealthIn(as.Kind, raw)
	}
	if as.spec {
		it.Record.Digest = object.SpecDigest(raw)
	}
	return it, err
}

// bodyOf returns an object without managed fields. Items of a list do not always say their kind, so it is written out; all else stands as the server
// wrote it, in its order.
func bodyOf(raw []byte, parts []object.Part, as reading) []byte {
	version, kind := as.ToAPIVersionAndKind()
	out := fmt.Appendf(make([]byte, 0, len(raw)), `{"apiVersion":%q,"kind":%q`, version, kind)
	for _, p := range parts {
		switch p.Name {
		case "apiVersion", "kind":
		case "metadata":
			out = append(append(append(out, ','), raw[p.Begin:p.From]...), bareMeta(raw[p.From:p.To])...)
		default:
			out = append(append(out, ','), raw[p.Begin:p.To]...)
		}
	}
	return slices.Clone(append(out, '}'))
}

// bareMeta is metadata without managed fields.
func bareMeta(raw []byte) []byte {
	parts, _ := object.Parts(raw)
	out := append(make([]byte, 0, len(raw)), '{')
	for _, p := range parts {
		if p.Name == "managedFields" {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, raw[p.Begin:p.To]...)
	}
	return append(out, '}')
}

// item returns an object reduced. It keeps nothing of what it was decoded from: its own strings share one allocation, and that of a namespace is one
// for all.
func (c *conn) item(m *metav1.ObjectMeta) object.Item {
	it := object.Item{Namespace: unique.Make(m.Namespace).Value(), Record: object.Reduce(m, c.owner)}
	r := &it.Record
	all := m.Name + r.UID + r.ResourceVersion
	name, uid := len(m.Name), len(m.Name)+len(r.UID)
	it.Name, r.UID, r.ResourceVersion = all[:name], all[name:uid], all[uid:]
	return it
}

// get reads a single object; an absent one is simply not seen.
func (c *reader) get(ctx context.Context, r resource, s scope) (listing, error) {
	it, err := c.one(ctx, s.reading(r), object.Key{Namespace: s.namespace, Name: s.name})
	if missing(err) == s.name {
		return listing{}, nil
	}
	return listing{items: []object.Item{it}}, err
}

// one reads an object; of the key only namespace and name are asked.
func (c *reader) one(ctx context.Context, as reading, key object.Key) (object.Item, error) {
	req := setPath(c.rest.Get(), as.path(key.Namespace, key.Name))
	if as.whole() {
		raw, err := rawJSON(ctx, req)
		if err != nil {
			return object.Item{}, err
		}
		return c.wholeItem(raw, as)
	}
	m, err := metaOf(req.SetHeader("Accept", acceptMeta).Do(ctx))
	if err != nil {
		return object.Item{}, err
	}
	return c.metaItem(m, as)
}

// rawJSON returns the answer as it is. Raw alone would not read what the server says of an error.
func rawJSON(ctx context.Context, req *rest.Request) ([]byte, error) {
	answer := req.SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx)
	if err := answer.Error(); err != nil {
		return nil, err
	}
	return answer.Raw()
}

// metaOf returns the metadata an answer holds; anything else is an error.
func metaOf(answer rest.Result) (*metav1.ObjectMeta, error) {
	got, err := answer.Get()
	if err != nil {
		return nil, err
	}
	partial, ok := got.(*metav1.PartialObjectMetadata)
	if !ok {
		return nil, fmt.Errorf("the answer is not metadata but %T", got)
	}
	return &partial.ObjectMeta, nil
}
