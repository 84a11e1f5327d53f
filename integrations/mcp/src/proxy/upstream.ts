/** The server behind the proxy: a program to start, or an address of Streamable HTTP. */
export type Upstream =
  | { readonly kind: 'command'; readonly command: string; readonly args: readonly string[] }
  | { readonly kind: 'url'; readonly url: URL }
