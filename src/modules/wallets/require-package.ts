import { findPackageJSON } from 'node:module';

/** @throws Error that says how to install the optional package, if it is not installed */
export function requirePackage(name: string): void {
  try {
    findPackageJSON(name, import.meta.url);
  } catch {
    throw new Error(
      `needs the package ${name}: install it with "npm ci --omit=dev", or build the image with --build-arg OPTIONAL=include`,
    );
  }
}
