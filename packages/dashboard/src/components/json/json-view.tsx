import { visibleText } from '../invisible'
import classes from './json-view.module.css'

/** Writes a JSON value as indented text, with escapes for invisible characters. */
export function jsonText(value: unknown): string {
  return visibleText(JSON.stringify(value, null, 2))
}

export function JsonView({ value, label }: { readonly value: unknown; readonly label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <section className={classes.json} tabIndex={0} aria-label={label}>
      <pre>{jsonText(value)}</pre>
    </section>
  )
}
