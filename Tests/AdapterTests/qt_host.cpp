// <crunloop/adapters/qt.h> in an application without a screen.
#include "qt_host.h"

#include <crunloop/adapters/qt.h>
#include <QCoreApplication>
#include <QGuiApplication>
#include <QTimer>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>

static QGuiApplication *application;
static rlc_qt_host *attached;
static QSocketNotifier *load;
static int load_fd;

static unsigned long (*passes_of)(void);
static unsigned long passes_before;

namespace {
/** Counts the calls that are delivered to an adapter's object after it was detached. */
class late_passes : public QObject {
  public:
    const QObject *detached = nullptr;
    int count = 0;

    bool eventFilter(QObject *receiver, QEvent *event) override {
        count += receiver == detached && event->type() == QEvent::MetaCall ? 1 : 0;
        return false;
    }
};

/** QObject shows this to its own classes only. */
class heard : public QAbstractEventDispatcher {
  public:
    static int receivers_of(const QAbstractEventDispatcher *dispatcher, const char *signal) {
        return (dispatcher->*(&heard::receivers))(signal);
    }
};
} // namespace

static late_passes *late;

void qt_begin(unsigned long (*passes)(void)) {
    static int count = 1;
    static char name[] = "qt_test", *arguments[] = {name, nullptr};
    qputenv("QT_QPA_PLATFORM", "offscreen");
    application = new QGuiApplication(count, arguments);
    passes_of = passes;
    late = new late_passes;
    application->installEventFilter(late);
    // Qt's own dispatcher sends posted events and then sleeps in the same iteration; a case looks in between.
    QAbstractEventDispatcher *dispatcher = QAbstractEventDispatcher::instance();
    QObject::connect(dispatcher, &QAbstractEventDispatcher::aboutToBlock, application, [dispatcher] {
        if (passes_of() != passes_before)
            dispatcher->wakeUp();
    });
}

void qt_end(void) {
    delete application;
    delete late;
}

void qt_nothing(void) {
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
}

void qt_attach(rlc_loop *loop) {
    if (rlc_qt_attach(loop, &attached) < 0)
        abort();
    if (attached->context == late->detached) /* its memory is this one's now */
        late->detached = nullptr;
}

void qt_detach(void) {
    if (attached != nullptr)
        late->detached = attached->context;
    rlc_qt_detach(attached);
    attached = nullptr;
}

int qt_late_passes(void) {
    return late->count;
}

int qt_listeners(void) {
    const QAbstractEventDispatcher *dispatcher = QAbstractEventDispatcher::instance();
    return heard::receivers_of(dispatcher, SIGNAL(awake())) + heard::receivers_of(dispatcher, SIGNAL(aboutToBlock()));
}

int qt_attach_elsewhere(rlc_loop *loop) {
    rlc_qt_host *none = nullptr;
    int status = 0;
    std::thread([&] { status = rlc_qt_attach(loop, &none); }).join();
    return none == nullptr ? status : 0;
}

void qt_turn(bool may_wait) {
    passes_before = passes_of();
    QAbstractEventDispatcher::instance()->processEvents(
        may_wait ? QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents : QEventLoop::AllEvents);
}

int qt_fails_with(void) {
    for (int i = 0; i < 3; i++)
        qt_turn(false);
    return rlc_qt_status(attached);
}

void qt_tell_awake(void) {
    emit QAbstractEventDispatcher::instance()->awake();
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
