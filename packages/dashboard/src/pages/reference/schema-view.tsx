import { type ReactNode, useState } from 'react'
import type { JsonSchema } from '../../api/openapi'
import { useCatalogue } from './document-context'
import { Prose } from './prose'
import classes from './reference.module.css'
import { constraintsOf, descriptionOf, exampleIn, type Member, membersOf, objectsIn, typeOf, valuesOf } from './schema'

export interface SchemaViewProps {
  readonly schema: JsonSchema
  /** Whether callers send the value; otherwise the server does. */
  readonly isSent: boolean
}

/** Lists the members of an object. */
export function Members({ schema, isSent }: SchemaViewProps) {
  const members = membersOf(schema, isSent)
  if (members.length === 0) return <ValueFacts schema={schema} isSent={isSent} />
  return (
    <ul className={classes.members}>
      {members.map((member) => (
        <li key={member.name}>
          <MemberName member={member} isSent={isSent} />
          <ValueFacts schema={member.schema} isSent={isSent} />
        </li>
      ))}
    </ul>
  )
}

function MemberName({ member, isSent }: { readonly member: Member; readonly isSent: boolean }) {
  const { name, isPattern, isRequired, schema } = member
  return (
    <div className={classes.member}>
      {isPattern ? (
        <span>
          names that match <code>{name}</code>
        </span>
      ) : (
        <code className={classes.name}>{name}</code>
      )}
      <span className="quiet">{typeOf(schema)}</span>
      {isSent && isRequired && <span className={classes.required}>required</span>}
      {!isSent && !isRequired && !isPattern && <span className="quiet">optional</span>}
    </div>
  )
}

/** The constraints of a value, an example, and the members of its objects, folded. */
export function ValueFacts({ schema, isSent }: SchemaViewProps) {
  const { schemas } = useCatalogue()
  const description = descriptionOf(schema)
  const values = valuesOf(schema)
  const constraints = constraintsOf(schema)
  const example = exampleIn(schema)
  return (
    <>
      {description !== null && (
        <div>
          <Prose text={description} />
        </div>
      )}
      {values.length > 0 && (
        <div className={classes.values}>
          {values.map((value) => (
            <code key={String(value)}>{String(value)}</code>
          ))}
        </div>
      )}
      {constraints.length > 0 && (
        <div className="quiet">
          <Prose text={constraints.join(', ')} />
        </div>
      )}
      {example !== undefined && values.length === 0 && (
        <div className="quiet">
          Example: <code>{typeof example === 'string' ? example : JSON.stringify(example)}</code>
        </div>
      )}
      {objectsIn(schema, schemas, isSent).map(([name, object]) => (
        <Opened key={name} title={name === null ? 'Members' : `Members of ${name}`}>
          <Members schema={object} isSent={isSent} />
        </Opened>
      ))}
    </>
  )
}

/** Mounts its content only when opened, because a schema may contain itself. */
export function Opened({
  title,
  id,
  children,
}: {
  readonly title: ReactNode
  readonly id?: string
  readonly children: ReactNode
}) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className={classes.opened} id={id} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen && <div className={classes.inside}>{children}</div>}
    </details>
  )
}
