/** The action of a tool that is mapped to none. */
import { hashOfText } from '../../sha256.js'

/** The contract's limit of an action. */
const MAX_ACTION = 128
const HASH_DIGITS = 32
/** Leaves room for a readable part and the hash. */
const MAX_PREFIX = 64
const WORD = /^[A-Za-z0-9_-]+$/
const WORDS = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/

/**
 * `<prefix>.<tool>` if the name consists of letters, digits, `_` and `-` and fits. For any other name
 * `<prefix>.<readable>.<hash>`: each run of other characters becomes a dot (`_.` at the beginning), the result is cut to
 * what fits, and 32 digits of the hash of the name follow. So no two names have the same action, no name has the action
 * of a mapped tool with another prefix, and a pattern such as `tool.send*` matches only names that begin so.
 *
 * @param prefix one or more words with dots between them, at most 64 characters, such as `tool` or `mcp.github`
 * @throws TypeError for a faulty prefix
 */
export function actionOfTool(tool: string, prefix: string): string {
  if (!WORDS.test(prefix) || prefix.length > MAX_PREFIX) {
    throw new TypeError(
      `the prefix of an action must be words with dots between them, such as 'tool', up to ${MAX_PREFIX} characters`,
    )
  }
  const plain = `${prefix}.${tool}`
  if (WORD.test(tool) && plain.length <= MAX_ACTION) return plain
  const room = MAX_ACTION - prefix.length - HASH_DIGITS - 2
  const readable = tool
    .slice(0, MAX_ACTION)
    .replace(/^[^A-Za-z0-9_-]+/, '_.')
    .replace(/[^A-Za-z0-9_-]+/g, '.')
    .slice(0, room)
    .replace(/\.$/, '')
  return `${prefix}.${readable}.${hashOfText(tool).slice(0, HASH_DIGITS)}`
}
