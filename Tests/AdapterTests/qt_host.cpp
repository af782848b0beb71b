// <crunloop/adapters/qt.h> in an application without a screen.
#include "qt_host.h"

#include <crunloop/adapters/qt.h>
#include <QCoreApplication>
#include <QGuiApplication>
#include <QTimer>
#include <sys/eventfd.h>
#include <unistd.h>

static QGuiApplication *application;
static rlc_qt_host *attached;
static QSocketNotifier *load;
static int load_fd;

static unsigned long (*passes_of)(void);
static unsigned long passes_before;

void qt_begin(unsigned long (*passes)(void)) {
    static int count = 1;
    static char name[] = "qt_test", *arguments[] = {name, nullptr};
    qputenv("QT_QPA_PLATFORM", "offscreen");
    application = new QGuiApplication(count, arguments);
    passes_of = passes;
    // Qt's own dispatcher sends posted events and then sleeps in the same iteration; a case looks in between.
    QAbstractEventDispatcher *dispatcher = QAbstractEventDispatcher::instance();
    QObject::connect(dispatcher, &QAbstractEventDispatcher::aboutToBlock, application, [dispatcher] {
        if (passes_of() != passes_before)
            dispatcher->wakeUp();
    });
}

void qt_end(void) {
    delete application;
}

void qt_nothing(void) {
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
}

void qt_attach(rlc_loop *loop) {
    if (rlc_qt_attach(loop, &attached) < 0)
        abort();
}

void qt_detach(void) {
    rlc_qt_detach(attached);
    attached = nullptr;
}

void qt_turn(bool may_wait) {
    passes_before = passes_of();
    QAbstractEventDispatcher::instance()->processEvents(
        may_wait ? QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents : QEventLoop::AllEvents);
}

void qt_add_load(void (*fn)(void)) {
    load_fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    load = new QSocketNotifier(load_fd, QSocketNotifier::Read);
    QObject::connect(load, &QSocketNotifier::activated, load, [fn] { fn(); });
}

void qt_remove_load(void) {
    delete load;
    close(load_fd);
}

void qt_after(int ms, void (*fn)(void)) {
    QTimer::singleShot(ms, Qt::PreciseTimer, [fn] { fn(); });
}
