/** The result of one check, and how to fix a problem. Contains no secret. */
export interface Finding {
  readonly subject: string
  readonly text: string
  /** Null: there is no problem. */
  readonly fix: string | null
}

export function fine(subject: string, text: string): Finding {
  return { subject, text, fix: null }
}

export function problem(subject: string, text: string, fix: string): Finding {
  return { subject, text, fix }
}

/** One line. */
export function lineOf({ subject, text, fix }: Finding): string {
  const whole = fix === null ? text : `${text} Fix: ${fix}`
  return `${(fix === null ? 'ok' : 'problem').padEnd(9)}${subject.padEnd(16)}${whole.replaceAll(/\s*\n\s*/g, ' ')}`
}
