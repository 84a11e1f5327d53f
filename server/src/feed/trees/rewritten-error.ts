/** The trees do not extend what is remembered. The message is a sentence for the operator. */
export class RewrittenError extends Error {
  override readonly name = 'RewrittenError'
}
