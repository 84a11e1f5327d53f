import { z } from 'zod'
import { LIMITS } from './limits.js'

/** Format, private-use and separator characters can make two resources look alike, so they are rejected. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/u
const PRINTABLE_ASCII = /^[ -~]*$/

/**
 * Whether a text has only characters that a resource may have, and is in the form NFC. False for a text longer than any
 * resource, because normalizing can take time that grows with the square of the length.
 */
export function hasResourceCharacters(text: string): boolean {
  if (text.length > LIMITS.resourceLength) return false
  return PRINTABLE_ASCII.test(text) || (!UNSEEN.test(text) && text.normalize('NFC') === text)
}

/** The characters of a resource, as far as every dialect of regular expressions can express them. */
export const RESOURCE_CHARACTER = '[^\\u0000-\\u001f\\u007f-\\u009f]'

/**
 * A text with limits on its number of characters. JSON Schema counts code points where the wire counts UTF-16 code
 * units, so the published schema allows some texts that the server refuses, never the other way round.
 */
export function textOf(minimum: number, maximum: number) {
  return z
    .string()
    .refine((text) => text.length >= minimum && text.length <= maximum, {
      error:
        minimum === 0 ? `must have at most ${maximum} characters` : `must have ${minimum} to ${maximum} characters`,
    })
    .meta({ ...(minimum > 0 && { minLength: minimum }), maxLength: maximum })
}

/** The agent that asks. */
export const AgentIdSchema = textOf(1, LIMITS.agentIdLength)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:@/+-]*$/, {
    error: 'must start with a letter or digit and hold only letters, digits and . _ : @ / + -',
  })
  .meta({ description: 'The agent that requests the decision.', examples: ['agent:support-7'] })

/** The action that the agent wants to run, `<domain>.<verb>`. */
export const ActionSchema = textOf(1, LIMITS.actionLength)
  .regex(/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/, {
    error: 'must be words of letters, digits, _ and - with dots between them, such as payment.refund',
  })
  .meta({ description: 'What the agent wants to do, `<domain>.<verb>`.', examples: ['payment.refund'] })

/** The target of the action, `<type>:<id>`, split at the first colon. */
export const ResourceSchema = textOf(1, LIMITS.resourceLength)
  .regex(/^[A-Za-z0-9_.-]+:./, { error: 'must be <type>:<id>, such as order:8812' })
  .refine(hasResourceCharacters, {
    error: 'must be in Unicode form NFC, without control, format or private-use characters',
  })
  .meta({
    pattern: `^[A-Za-z0-9_.-]+:${RESOURCE_CHARACTER}+$`,
    description: 'The object of the action, `<type>:<id>`.',
    examples: ['order:8812'],
  })

/** The name of a policy, a key or an agent. */
export const NameSchema = textOf(1, LIMITS.nameLength)
  .refine((text) => text.trim() !== '', { error: 'must not be blank' })
  .meta({ pattern: '\\S' })
