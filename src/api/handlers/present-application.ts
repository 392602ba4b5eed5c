import { logoPathOf } from '../../domain/applications/logo-path.ts';
import { toMessage } from './to-message.ts';

interface Logos {
  readonly logoDigest: Buffer | null;
  readonly darkLogoDigest: Buffer | null;
  readonly logoSize: unknown;
  readonly darkLogoSize: unknown;
}

/** Returns a function that converts an application, or its branding, to a message with the URLs of its logos. */
export function createApplicationPresenter(publicUrl: string) {
  const base = publicUrl.replace(/\/$/, '');
  return <Row extends Logos>(row: Row, applicationId: string) => {
    const { logoDigest, darkLogoDigest, logoSize: _, darkLogoSize: __, ...others } = row;
    const uriOf = (theme: 'light' | 'dark', digest: Buffer | null) =>
      digest && base + logoPathOf(applicationId, theme, digest);
    const logos = { logoUri: uriOf('light', logoDigest), darkLogoUri: uriOf('dark', darkLogoDigest) };
    return { ...toMessage(others), ...toMessage(logos) };
  };
}
