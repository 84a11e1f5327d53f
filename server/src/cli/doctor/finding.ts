/** The result of one check, and how to fix a problem. Contains no secret. */
export interface Finding {
  readonly text: string
  /** Null: there is no problem. */
  readonly fix: string | null
}

export function fine(text: string): Finding {
  return { text, fix: null }
}

export function problem(text: string, fix: string): Finding {
  return { text, fix }
}

export function lineOf(subject: string, { text, fix }: Finding): string {
  const whole = fix === null ? text : `${text} Fix: ${fix}`
  return `${(fix === null ? 'ok' : 'problem').padEnd(9)}${subject.padEnd(16)}${whole.replaceAll(/\s*\n\s*/g, ' ')}`
}
