#include "qt_shell.h"

#include <cstring>
#include <QAbstractEventDispatcher>
#include <QApplication>
#include <QLabel>
#include <QSocketNotifier>

namespace {
/** Serves the guest once for each time that it has work, so that Qt's own events have their turns. */
class Host : public QObject {
  public:
    explicit Host(qt_guest guest) : guest(guest), notifier(guest.descriptor, QSocketNotifier::Read) {
        connect(&notifier, &QSocketNotifier::activated, this, [this] { this->guest.serve(this->guest.context); });
        QAbstractEventDispatcher *dispatcher = QAbstractEventDispatcher::instance();
        connect(dispatcher, &QAbstractEventDispatcher::aboutToBlock, this, [this] { prepare(); });
        connect(dispatcher, &QAbstractEventDispatcher::awake, this, [this] { prepare(); });
    }

  private:
    void prepare() {
        int work = guest.prepare(guest.context);
        notifier.setEnabled(work >= 0);
        if (work <= 0 || is_queued)
            return;
        is_queued = true; // an event of Qt's own, which also keeps Qt from sleeping
        QMetaObject::invokeMethod(
            this,
            [this] {
                is_queued = false;
                guest.serve(guest.context);
            },
            Qt::QueuedConnection);
    }

    qt_guest guest;
    QSocketNotifier notifier;
    bool is_queued = false;
};

QLabel *label;
} // namespace

void qt_start(void) {
    static int count = 1;
    static char name[] = "qt", *arguments[] = {name, nullptr};
    new QApplication(count, arguments); // lives as long as the process
    label = new QLabel;
    label->show();
}

void qt_serve(qt_guest guest) {
    new Host(guest);
}

void qt_set_text(const char *text) {
    label->setText(QString::fromUtf8(text));
}

char *qt_copy_text(void) {
    return strdup(label->text().toUtf8().constData());
}

void qt_run(void) {
    QApplication::exec();
}

void qt_quit(void) {
    QApplication::quit();
}
