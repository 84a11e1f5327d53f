import { type ReactNode, useState } from 'react'
import classes from './explanation.module.css'

/** What few people want to see, behind its name. It is made when it is opened first. */
export function Fold({ title, children }: { readonly title: string; readonly children: () => ReactNode }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className={classes.fold} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="quiet">{title}</summary>
      {isOpen && children()}
    </details>
  )
}
