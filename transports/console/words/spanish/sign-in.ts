import type { Words } from "#transports/console/words/english/english.ts";

export const signIn: Words["signIn"] = {
  oneMoment: "Un momento",
  goOnToConsole: "Continuar a la consola",
  thatFormCannotBeRead: "Ese formulario no se puede leer",
  formTooLargeOrOdd:
    "Pesa más de 1,5 MB o contiene caracteres que no se pueden guardar, como NUL. Nada ha cambiado. Vuelva atrás y acorte o limpie el texto.",
  thatFormWasNotSent: "Ese formulario viene de otro sitio o de una sesión anterior",
  nothingHasChangedOpenPage: "No ha cambiado nada. Abra la página de nuevo y envíe el formulario desde allí.",
  openTheConsole: "Abrir la consola",
  youAreSignedOut: "Su sesión ha terminado",
  signInElsewhereAndReload:
    "No ha cambiado nada y no se ha perdido nada. Inicie sesión en otra pestaña y recargue esta página: su navegador envía el formulario de nuevo.",
  signedInAgain: "Ha iniciado sesión de nuevo desde que se mostró este formulario",
  nothingHasChangedYet: (email) => `Aún no ha cambiado nada. Su sesión es la de ${email}.`,
  sendItNow: "Enviarlo ahora",
  signIn: "Iniciar sesión",
  password: "Contraseña",
  forgotYourPassword: "¿Olvidó su contraseña?",
  tooManyTriesComeBack: "Demasiados intentos. Vuelva en un cuarto de hora.",
  thatDidNotWorkPlease: "No se pudo hacer. Inténtelo de nuevo en un minuto.",
  emailOrPasswordWrong: "El correo o la contraseña no son correctos.",
  tellUsEmailYourAccount:
    "Díganos el correo de su cuenta. Si existe, recibirá un enlace para fijar una contraseña nueva.",
  sendTheLink: "Enviar el enlace",
  writeWholeEmailAddressSuch: "Escriba una dirección de correo completa, como nombre@example.com.",
  checkYourMail: "Revise su correo",
  ifThereAccountWithThis:
    "Si hay una cuenta con este correo, va en camino un enlace. Funciona una vez, dentro de 30 minutos.",
  nothingThereCheckSpamFolder:
    "¿No llegó nada? Revise el correo no deseado o pídalo de nuevo en unos minutos.",
  setANewPassword: "Fijar una contraseña nueva",
  endsEverySessionYourAccount: "Termina todas las sesiones de su cuenta. Use 12 caracteres o más.",
  newPassword: "Contraseña nueva",
  setThePassword: "Fijar la contraseña",
  askForNewLink: "Pedir un enlace nuevo",
  yourPasswordIsSet: "Su contraseña está fijada",
  signInWithFromNow:
    "Inicie sesión con ella desde ahora. Todas las demás sesiones de su cuenta han terminado.",
  youAreStillSignedIn: "La sesión sigue abierta",
};
