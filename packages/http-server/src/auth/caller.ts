/** Who calls. A session's caller is good for as long as its token is. */
export type Caller = { readonly kind: "master" } | { readonly kind: "session"; readonly life: AbortSignal };
