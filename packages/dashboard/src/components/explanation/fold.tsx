import { type ReactNode, useState } from 'react'
import classes from './explanation.module.css'

/** A detail that few readers need. Its content is mounted when it is first opened. */
export function Fold({ title, children }: { readonly title: string; readonly children: () => ReactNode }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className={classes.fold} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="quiet">{title}</summary>
      {isOpen && children()}
    </details>
  )
}
