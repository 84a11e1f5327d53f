const FORM = /^[A-Za-z0-9][A-Za-z0-9._:@/+-]*$/
const LONGEST = 256

/** Whether this is a valid agent id. */
export function isAgentId(text: string): boolean {
  return text.length <= LONGEST && FORM.test(text)
}
